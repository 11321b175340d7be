"""What agent frameworks ask of a memory, each over this client; a module is imported where its
framework is used.
"""
