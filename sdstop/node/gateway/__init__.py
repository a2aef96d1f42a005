"""Gateway: the cluster's REST gateway as the live node asks it, for what only reads.

    allowed     the methods and paths that are ever sent, and nothing else
    settings    the section [powerflex] of the config file
    secret      the password: where it comes from, and that it is seen nowhere
    exchange    one request over one connection, by sdstop.node.http
    session     logging in: the token of ScaleIO 1.x to 3.x, the bearer token of PowerFlex 4.x
    negotiated  which statistics a version knows
    client      several gateways as one: failover, back-off, and the last answer as long as there is no new one

Only sdstop.node.live uses the client, in the sampler's process.
"""
