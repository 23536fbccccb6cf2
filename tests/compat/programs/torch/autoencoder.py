"""A convolutional autoencoder: strided convolutions down, transposed ones up."""

import numpy as np
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(17)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 4, 3, stride=2, padding=1),
            nn.ReLU(True),
            nn.Conv2d(4, 6, 3, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.Flatten(),
            nn.Linear(6 * 2 * 2, 5),
        )
        self.decoder = nn.Sequential(
            nn.Linear(5, 6 * 2 * 2),
            nn.Unflatten(1, (6, 2, 2)),
            nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1),
            nn.ELU(),
            nn.ConvTranspose2d(4, 1, 3, stride=2, padding=1, output_padding=1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = Autoencoder()


def fill(m):
    if isinstance(m, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
        m.weight.data = torch.from_numpy(0.3 * rng.standard_normal(tuple(m.weight.shape)))
        torch.nn.init.zeros_(m.bias)


model.apply(fill)
images = torch.from_numpy(rng.random((6, 1, 8, 8)))
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()
losses = []
for _ in range(3):
    output = model(images)
    loss = criterion(output, images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

upsampled = nn.functional.interpolate(images[:1, :, :3, :3], scale_factor=2, mode="nearest")
smooth = nn.functional.interpolate(images[:1, :, :4, :4], size=(6, 6), mode="bilinear", align_corners=False)
padded = nn.functional.pad(images[0, 0, :2, :2], (1, 0, 0, 2), value=0.5)

results = {
    "losses": losses,
    "output": output.detach(),
    "grads": [p.grad for p in model.parameters()],
    "upsampled": upsampled,
    "smooth": smooth,
    "padded": padded,
}
