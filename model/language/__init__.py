"""The modelling language: domains, declarations and definitions. Nothing here knows about Kafka."""
