"""For coding assistants: what they may ask, each answer small, as tools of the Model Context Protocol."""
