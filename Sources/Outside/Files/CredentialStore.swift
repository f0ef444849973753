package import Vocabulary

/// Credentials from a pairing (relay.md#credentials-on-disk).
package struct RelayCredentials: Hashable, Sendable {
    package var token: Secret
    package var installation: String?
    /// The relay that issued them, or nil if the file names none; then they are valid for any relay.
    package var relay: String?
    /// The bridge's own key pair in hexadecimal, written by bridges that seal.
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

/// The credential files in the configuration directory, in the reference bridge's format, so that either bridge can continue
/// after the other. The connection `default` uses the reference bridge's file, every other one a file of its own.
package struct CredentialStore: Sendable {
    private struct Form: Codable {
        var botToken: String?
        var installationId: String?
        var sophonBase: String?
        var bridgeSecretHex: String?
        var bridgePubkeyHex: String?
        var savedAt: String?
    }

    /// Loaded credentials, with a warning about their file for the user.
    package struct Found: Hashable, Sendable {
        package var credentials: RelayCredentials
        /// Time of the pairing, in milliseconds since 1970.
        package var savedAt: Int64?
        package var warning: String?
    }

    package let directory: String

    package init(directory: String) { self.directory = directory }

    package func path(of connection: ConnectionName) -> String {
        directory + (connection.text == "default" ? "/credentials.json" : "/credentials.\(connection.text).json")
    }

    /// Nil if there are none, or if they belong to another relay.
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

    /// Deletes the credentials of any relay. Returns whether there were any.
    package func delete(_ connection: ConnectionName) throws(FileError) -> Bool {
        try PrivateFile.remove(path(of: connection))
    }

    /// Normal form of an address, so that two spellings of one relay compare as equal.
    private static func plain(_ address: String) -> String {
        if let parsed = try? WebAddress(address) { return parsed.description }
        return address
    }
}
