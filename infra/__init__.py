"""The infrastructure: one stack for every stage, the local AWS that runs it, and the commands that
operate it.
"""
