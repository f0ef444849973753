import Vocabulary

/// Address of the relay, and the headers that authorise the bridge there.
package struct RelayAddress: Sendable, Hashable {
    package var baseURL: String
    let headers: [HTTPHeader]

    package init(baseURL: String, token: String) {
        self.baseURL = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
        headers = [
            HTTPHeader("Authorization", "Bearer \(token)"), HTTPHeader("Content-Type", "application/json"),
        ]
    }
}
