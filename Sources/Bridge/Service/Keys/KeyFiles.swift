package import Files
package import Sealing
package import Vocabulary

/// The keys of one connection in its files (relay.md#credentials-on-disk).
package struct KeyFiles: Sendable {
    package struct Opened: Sendable {
        package var ring: KeyRing
        /// As the files have it.
        package var deviceSecret: Secret
        /// For people: files that others may read, and the like.
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

    /// For a bridge that begins: makes the device's secret where there is none.
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

    /// For those who only look. Nil: there are no keys, and no device.
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

    /// Returns when the disk has them. Says where they are, if that is not where they belong.
    package func save(_ stored: StoredKeyRing, wallMilliseconds: Int64) throws(FileError) -> String? {
        try files.save(stored, of: connection, wallMilliseconds: wallMilliseconds)
    }

    /// What pairing has left that this token is of. A token that the configuration names may be another installation's; then a
    /// file that cannot be read is no matter either.
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
    /// Nil: this token does not name its installation (relay.md#bridge-token).
    package var namedInstallation: String? { text.contains(":") ? String(installation) : nil }
}
