import LocalServer

/// A server on a free port for the length of `body`.
func withServer<Result>(
    settings: LocalServer.Settings = LocalServer.Settings(),
    handler: @escaping @Sendable (LocalRequest) -> LocalAnswer, _ body: (LocalServer) throws -> Result
) throws -> Result {
    let server = try LocalServer(listen: "127.0.0.1:0", settings: settings, handler: handler)
    try server.start()
    defer { server.stop() }
    return try body(server)
}
