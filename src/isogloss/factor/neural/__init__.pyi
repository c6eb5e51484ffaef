from ._vae import MultiViewVAE as MultiViewVAE
