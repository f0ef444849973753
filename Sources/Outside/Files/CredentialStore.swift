package import Vocabulary

/// What pairing gave (relay.md#credentials-on-disk).
package struct RelayCredentials: Hashable, Sendable {
    package var token: Secret
    package var installation: String?
    /// The relay they are for; nil: the file does not say, and every relay is meant.
    package var relay: String?
    /// The bridge's own key pair, as hexadecimal digits, from bridges that seal.
    package var bridgeSecret: Secret?
    package var bridgePublicKey: String?

    package init(
        token: Secret, installation: String? = nil, relay: String? = nil, bridgeSecret: Secret? = nil,
        bridgePublicKey: String? = nil
    ) {
        self.token = token
        self.installation = installation
        self.relay = relay
        self.bridgeSecret = bridgeSecret
        self.bridgePublicKey = bridgePublicKey
    }
}

/// The credentials in the configuration directory, in the reference bridge's own form, so that either can go on where the other
/// stopped. The connection `default` has the reference bridge's file; others have one of their own.
package struct CredentialStore: Sendable {
    private struct Form: Codable {
        var botToken: String?
        var installationId: String?
        var sophonBase: String?
        var bridgeSecretHex: String?
        var bridgePubkeyHex: String?
        var savedAt: String?
    }

    /// Credentials that were found, and what people should know of their file.
    package struct Found: Hashable, Sendable {
        package var credentials: RelayCredentials
        /// When they were saved, which was at the pairing. Milliseconds since 1970.
        package var savedAt: Int64?
        package var warning: String?
    }

    package let directory: String

    package init(directory: String) { self.directory = directory }

    package func path(of connection: ConnectionName) -> String {
        directory + (connection.text == "default" ? "/credentials.json" : "/credentials.\(connection.text).json")
    }

    /// Nil when there are none, or they are another relay's.
    package func load(_ connection: ConnectionName, for relay: WebAddress) throws(FileError) -> Found? {
        let path = path(of: connection)
        guard let (form, warning) = try JSONFile.read(Form.self, from: path, remedy: "run: sophon-bridge pair"),
            let token = form.botToken, !token.isEmpty
        else { return nil }
        if let theirs = form.sophonBase, Self.plain(theirs) != Self.plain(relay.description) { return nil }
        return Found(
            credentials: RelayCredentials(
                token: Secret(token), installation: form.installationId, relay: form.sophonBase,
                bridgeSecret: form.bridgeSecretHex.map { Secret($0) }, bridgePublicKey: form.bridgePubkeyHex),
            savedAt: form.savedAt.flatMap { JSONFile.wallMilliseconds($0) }, warning: warning)
    }

    package func save(
        _ credentials: RelayCredentials, for connection: ConnectionName, wallMilliseconds: Int64
    ) throws(FileError) {
        try JSONFile.write(
            Form(
                botToken: credentials.token.text, installationId: credentials.installation,
                sophonBase: credentials.relay, bridgeSecretHex: credentials.bridgeSecret?.text,
                bridgePubkeyHex: credentials.bridgePublicKey, savedAt: JSONFile.timestamp(wallMilliseconds)),
            to: path(of: connection))
    }

    /// Whether there were any, whatever relay they were for.
    package func delete(_ connection: ConnectionName) throws(FileError) -> Bool {
        try PrivateFile.remove(path(of: connection))
    }

    /// The same relay, written as one likes.
    private static func plain(_ address: String) -> String {
        if let parsed = try? WebAddress(address) { return parsed.description }
        return address
    }
}
