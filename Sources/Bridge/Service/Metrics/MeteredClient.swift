import RelayProtocol
package import Vocabulary

/// Counts one connection's calls to the relay: those of turns, of no turn, and of keys.
package struct MeteredClient: HTTPClient {
    private let client: any HTTPClient
    private let meter: Meter
    private let connection: ConnectionName

    package init(_ client: any HTTPClient, _ meter: Meter, of connection: ConnectionName) {
        self.client = client
        self.meter = meter
        self.connection = connection
    }

    package func send(
        _ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        client.send(request, completion: counting(request, completion))
    }

    package func send(
        _ request: HTTPRequest, meanwhile: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        client.send(request, meanwhile: meanwhile, completion: counting(request, completion))
    }

    /// Counts after the completion, which leads to the lane's next call.
    private func counting(
        _ request: HTTPRequest, _ completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) -> @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void {
        { [meter, connection, path = request.url] result in
            completion(result)
            meter.answered(path, RelayDecoder.answer(to: result, expecting: .nothing, wall: 0), of: connection)
        }
    }
}
