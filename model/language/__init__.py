"""The modelling language: domains, records, declarations, graph properties, definitions. It knows nothing of Kafka."""
