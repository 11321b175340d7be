"""OpenSearch with k-NN on the Lucene engine: a real server, made from the jars of Maven Central, on
loopback.
"""
