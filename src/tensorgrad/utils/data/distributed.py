"""DistributedSampler: each of several processes takes its share of the indices."""

import math

from tensorgrad.utils.data.sampler import Sampler


class DistributedSampler(Sampler):
    """The share of one process: every `num_replicas`-th index of an order that all processes agree on.

    >>> sampler = torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
    >>> list(sampler)
    [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise NotImplementedError(
                "DistributedSampler without num_replicas and rank asks torch.distributed for them: give both here"
            )
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        n = len(dataset)
        if drop_last and n % num_replicas:
            self.num_samples = math.ceil((n - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        from tensorgrad import Generator, randperm

        n = len(self.dataset)
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = randperm(n, generator=generator).tolist()
        else:
            order = list(range(n))
        if self.drop_last:
            order = order[: self.total_size]
        else:  # the first ones come again, so that all shares are equal
            missing = self.total_size - n
            order += (order * math.ceil(missing / n))[:missing] if missing else []
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Shuffle differently in each epoch."""
        self.epoch = epoch
