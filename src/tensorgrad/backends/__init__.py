"""Where numbers live: arrays in, arrays out; knows nothing of Tensor."""
