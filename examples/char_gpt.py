"""A small GPT learns a sonnet letter by letter, and recites.

python examples/char_gpt.py
"""

import tensorgrad as torch
from tensorgrad.show import curve, progress, sparkline

nn, F = torch.nn, torch.nn.functional
CONTEXT, WIDTH, HEADS, LAYERS = 32, 48, 4, 2
SONNET = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade
Nor lose possession of that fair thou owest;
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou growest:
So long as men can breathe or eyes can see,
So long lives this and this gives life to thee.
"""
LETTERS = sorted(set(SONNET))


class Block(nn.Module):
    """Attention to what came before, then a thought about it."""

    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.think = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.think(self.between(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters, self.places = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(LETTERS), bias=False)

    def forward(self, letters):
        x = self.letters(letters) + self.places(torch.arange(letters.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.scores(self.last(x))


def build():
    """The network."""
    return GPT()


def train(model, steps):
    """Train; give the loss of each step, and what it was computed of."""
    text = torch.tensor([LETTERS.index(letter) for letter in SONNET])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=max(steps, 100), eta_min=3e-4)
    for _ in range(steps):
        starts = torch.randint(len(text) - CONTEXT, (16,)).tolist()
        letters = torch.stack([text[start : start + CONTEXT] for start in starts])
        following = torch.stack([text[start + 1 : start + CONTEXT + 1] for start in starts])
        loss = F.cross_entropy(model(letters).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        yield loss.item(), (letters, following)


def recite(model, beginning, count):
    """What the model writes after a beginning, letter by letter."""
    letters = [LETTERS.index(letter) for letter in beginning]
    with torch.no_grad():
        for _ in range(count):
            scores = model(torch.tensor([letters[-CONTEXT:]]))[0, -1]
            letters.append(torch.multinomial(F.softmax(scores / 0.5, 0), 1).item())
    return "".join(LETTERS[letter] for letter in letters)


def main(steps=400):
    torch.manual_seed(0)
    model, losses = build(), []
    for loss, _ in progress(train(model, steps), "sonnet", total=steps):
        losses.append(loss)
    page = curve(losses, title="A small GPT learns a sonnet", y_label="cross-entropy of a letter")
    print(recite(model, "Shall I ", 160))
    print(f"\nloss   {sparkline(losses, 40)}  {losses[0]:.3f} to {losses[-1]:.3f}")
    print(f"wrote  {page.save('char_gpt.html')}")


if __name__ == "__main__":
    main()
