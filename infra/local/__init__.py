"""The whole service on this machine: the synthesized stack, deployed to a local AWS on loopback."""
