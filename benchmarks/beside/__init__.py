"""Other memory libraries, measured beside this one."""
