/// Callers that a server which trusts its machine admits.
///
/// A web page in the user's browser can reach loopback too. It cannot hide two things: the name that led it here (`Host`), which
/// reveals an outside name that was made to point here, and the requesting page (`Origin`). So `Host` must be a numeric address,
/// `localhost` or an allowed name, and `Origin`, if present, must be this very server.
struct Admission: Sendable {
    struct Refusal {
        var status: Int
        var sentence: String
    }

    /// Lower-case names of the server, besides numeric addresses and `localhost`.
    let names: Set<String>

    init(names: [String]) { self.names = Set(names.map { $0.lowercased() }) }

    /// The refusal, or nil if the request may pass.
    func refusal(of headers: [LocalHeader]) -> Refusal? {
        let hosts = headers.filter { $0.name.lowercased() == "host" }
        guard let host = hosts.first?.value.lowercased(), hosts.count == 1 else {
            return Refusal(status: 400, sentence: "The request needs exactly one Host header.")
        }
        guard isKnown(host) else {
            return Refusal(
                status: 421,
                sentence: "This server answers to numeric addresses and localhost, not to the name in the Host header.")
        }
        for origin in headers where origin.name.lowercased() == "origin" {
            guard origin.value.lowercased() == "http://\(host)" else {
                return Refusal(status: 403, sentence: "Web pages of another origin may not use this server.")
            }
        }
        return nil
    }

    private func isKnown(_ authority: String) -> Bool {
        guard let name = Self.hostName(of: authority) else { return false }
        return name == "localhost" || names.contains(name) || ListenAddress.family(of: name) != nil
    }

    /// The host of `host`, `host:port` and `[address]:port`, or nil if the port is no number.
    private static func hostName(of authority: String) -> String? {
        let name: Substring
        let rest: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            name = authority[authority.index(after: authority.startIndex)..<end]
            rest = authority[authority.index(after: end)...]
        } else {
            name = authority.prefix { $0 != ":" }
            rest = authority[name.endIndex...]
        }
        guard rest.isEmpty || (rest.first == ":" && ListenAddress.port(of: rest.dropFirst()) != nil) else { return nil }
        return String(name)
    }
}
