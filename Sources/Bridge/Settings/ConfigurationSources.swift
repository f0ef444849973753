import Glibc

/// Sources of the configuration.
package struct ConfigurationSources: Sendable {
    package struct File: Hashable, Sendable {
        package var name: String
        package var bytes: [UInt8]

        package init(name: String, bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }
    }

    /// Name and text of an option, by the path that it sets.
    package var flags: [String: (name: String, text: String)]
    package var environment: [String: String]
    package var file: File?
    /// Folder in which the program was started, or nil if it must not count.
    package var currentDirectory: String?

    package init(
        flags: [String: (name: String, text: String)] = [:], environment: [String: String] = [:], file: File? = nil,
        currentDirectory: String? = nil
    ) {
        self.currentDirectory = currentDirectory
        self.flags = flags
        self.environment = environment.filter { !$0.value.isEmpty }
        self.file = file
    }

    /// A path of the command line is resolved against the working directory. Paths in the file and in the environment must be absolute, since a
    /// service's working directory is not the user's.
    package static func absolute(_ path: String, from directory: String?) -> String {
        guard !path.hasPrefix("/"), !path.hasPrefix("~"), let directory else { return path }
        let steps = path.split(separator: "/").filter { $0 != "." }
        return ([directory == "/" ? "" : directory] + steps.map(String.init)).joined(separator: "/")
    }

    /// Size limits of a configuration file, and of a file that one of its values names.
    package static let fileLimit = 1 << 20
    package static let valueLimit = 1 << 16

    /// Reads the named file, else `bridge.json` in the configuration directory, which may be absent.
    package mutating func readFile(named name: String?) throws(ConfigurationError) {
        guard let path = name ?? standardFile else { return }
        if name == nil, access(path, F_OK) != 0 { return }
        do { file = File(name: path, bytes: try Self.read(path, limit: Self.fileLimit)) } catch {
            throw ConfigurationError(faults: [
                ConfigurationFault(
                    path: "", found: "\(path) \(error.reason)", expected: "a JSON file that can be read",
                    remedy: error.isAbsent
                        ? "write one with: sophon-bridge config example > \(path)"
                        : "let this user read it, or name another file with --config")
            ])
        }
    }

    private var standardFile: String? {
        configDirectory.map { $0 + "/bridge.json" }
    }

    private var configDirectory: String? {
        let home = environment["HOME"]
        guard let directory = environment["SOPHON_CONFIG_DIR"] else { return home.map { $0 + "/.config/sophon" } }
        guard directory.hasPrefix("~/"), let home else { return directory }
        return home + directory.dropFirst()
    }

    /// True if a program reads the output, which must be known before anything is read that could have a fault.
    package var wantsJSON: Bool { environment["SOPHON_JSON"].flatMap(SwitchWord.meaning) ?? false }

    package struct Unreadable: Error {
        package var reason: String
        package var isAbsent = false
    }

    /// With `isOrdinary` a pipe or a terminal is refused, since its other end may never write.
    package static func read(_ path: String, limit: Int, isOrdinary: Bool = false) throws(Unreadable) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (isOrdinary ? O_NONBLOCK | O_NOCTTY : 0))
        guard descriptor >= 0 else { throw unreadable(errno) }
        defer { close(descriptor) }
        var about = stat()
        if isOrdinary, fstat(descriptor, &about) != 0 || about.st_mode & S_IFMT != S_IFREG {
            throw Unreadable(reason: "is no ordinary file")
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(errno) }
            if count == 0 { return bytes }
            bytes += piece.prefix(count)
            guard bytes.count <= limit else { throw Unreadable(reason: "is over \(limit) bytes") }
        }
    }

    private static func unreadable(_ code: Int32) -> Unreadable {
        code == ENOENT
            ? Unreadable(reason: "does not exist", isAbsent: true)
            : Unreadable(reason: "cannot be read (\(String(cString: strerror(code))))")
    }
}
