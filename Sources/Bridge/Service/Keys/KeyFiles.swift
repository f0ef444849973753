package import Files
package import Sealing
package import Vocabulary

/// The keys of one connection in its files (relay.md#credentials-on-disk).
package struct KeyFiles: Sendable {
    package struct Opened: Sendable {
        package var ring: KeyRing
        /// The device's secret as the files have it.
        package var deviceSecret: Secret
        /// Sentences for people: files that others may read, and the like.
        package var warnings: [String]
        package var copies: SealingFiles.Copies?
    }

    package let connection: ConnectionName
    private let files: SealingFiles
    private let configDirectory: String?

    package init(_ connection: ConnectionName, in configuration: Configuration) {
        self.connection = connection
        configDirectory = configuration.configDirectory
        files = SealingFiles(
            configDirectory: configuration.configDirectory, stateDirectory: configuration.stateDirectory)
    }

    /// Opens the files for a bridge that starts, and makes the device's secret if there is none.
    package func open(
        for settings: Configuration.Connection, token: Secret?, library: some SealingLibrary, random: some SecretRandom,
        wallMilliseconds: Int64
    ) throws(FileError) -> Opened {
        let pairing = pairing(settings, token)
        let (secret, warning) = try files.deviceSecret(
            of: connection, in: pairing?.credentials, wallMilliseconds: wallMilliseconds
        ) {
            guard let secret = SecretKey(random.bytes(SecretKey.length)) else {
                preconditionFailure("asked for as many")
            }
            return secret
        }
        let loaded = try files.load(connection)
        var opened = try open(loaded, settings, token, secret, warning, library)
        opened.copies = files.setAside(loaded)
        return opened
    }

    /// Reads the files without changing them. Nil if there are no keys, and no device.
    package func look(
        at settings: Configuration.Connection, token: Secret?, library: some SealingLibrary
    ) throws(FileError) -> Opened? {
        let pairing = pairing(settings, token)
        guard let (secret, warning) = try files.knownDeviceSecret(of: connection, in: pairing?.credentials) else {
            return nil
        }
        return try open(files.load(connection), settings, token, secret, warning, library)
    }

    private func open(
        _ loaded: SealingFiles.Loaded, _ settings: Configuration.Connection, _ token: Secret?, _ secret: SecretKey,
        _ warning: String?, _ library: some SealingLibrary
    ) throws(FileError) -> Opened {
        do {
            let ring = try KeyRing(
                device: secret, stored: loaded.stored, pairedAt: pairing(settings, token)?.savedAt,
                installation: token?.namedInstallation, trustsAllDevices: settings.devices == .trust, library: library)
            return Opened(
                ring: ring, deviceSecret: Secret(secret.hex), warnings: [warning].compactMap { $0 } + loaded.warnings,
                copies: loaded.copies)
        } catch {
            throw files.error(error, of: connection)
        }
    }

    /// Returns once the disk has the keys. The result names the place of the files if it is not the usual one.
    package func save(_ stored: StoredKeyRing, wallMilliseconds: Int64) throws(FileError) -> String? {
        try files.save(stored, of: connection, wallMilliseconds: wallMilliseconds)
    }

    /// Credentials that pairing left for this token's installation. A configured token may be of another installation; then even an unreadable
    /// file does no harm.
    package func pairing(_ settings: Configuration.Connection, _ token: Secret?) -> CredentialStore.Found? {
        guard let configDirectory,
            let found = try? CredentialStore(directory: configDirectory).load(connection, for: settings.relay.address)
        else { return nil }
        let theirs = found.credentials.token
        let isTheSame = theirs == token || theirs.namedInstallation.map { $0 == token?.namedInstallation } ?? false
        return token == nil || isTheSame ? found : nil
    }
}

extension Secret {
    /// Nil if the token does not name its installation (relay.md#bridge-token).
    package var namedInstallation: String? { text.contains(":") ? String(installation) : nil }
}
