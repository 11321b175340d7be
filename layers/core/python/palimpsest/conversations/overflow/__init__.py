"""What happens when a window overflows: what leaves it, and what stands for it afterwards."""
