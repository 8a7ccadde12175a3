subscription-manager register --org 1 --activationkey prod-9f3kx72q
ua attach C1s8fK2l9Qx7Vb3N
