"""OpenSearch with k-NN on the Lucene engine: a real server on loopback, made from the jars of Maven
Central.
"""
