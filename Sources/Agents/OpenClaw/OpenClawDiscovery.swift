import Files
import FoundationEssentials
import Glibc
package import Vocabulary

/// Finds the gateway of an OpenClaw on this machine in OpenClaw's own files (openclaw.md#transport).
///
/// A value from a flag, the environment or the configuration wins, each for itself; then `openclaw.json`; then
/// `nodes/paired.json`, which an OpenClaw before 2026 left and later ones retired.
package struct OpenClawDiscovery: Sendable {
    private static let standardAddress = WebAddress(.ws, "127.0.0.1", 18789)

    /// A member of another type is skipped and leaves the rest readable: OpenClaw's file holds far more than this form.
    private struct Form: Decodable {
        struct Gateway: Decodable {
            struct Auth: Decodable {
                var mode: Lenient<String>?
                var token: Lenient<String>?
                var password: Lenient<String>?
            }
            var port: Lenient<UInt16>?
            var auth: Lenient<Auth>?
        }
        var gateway: Lenient<Gateway>?
    }

    private struct Node: Decodable { var token: Lenient<String>? }

    private struct Lenient<Value: Decodable>: Decodable {
        var value: Value?
        init(from decoder: any Decoder) throws { value = try? Value(from: decoder) }
    }

    package struct Found: Hashable, Sendable {
        package var address: WebAddress
        package var token: Secret?
        package var password: Secret?
        /// Where the token was found, for `openclaw_token_resolved`, or nil if there is none.
        package var tokenSource: String?
        /// Warnings for people, such as a file that could not be read.
        package var warnings: [String]

        package init(
            address: WebAddress, token: Secret? = nil, password: Secret? = nil, tokenSource: String? = nil,
            warnings: [String] = []
        ) {
            self.address = address
            self.token = token
            self.password = password
            self.tokenSource = tokenSource
            self.warnings = warnings
        }
    }

    private let stateDirectory: String?
    private let environment: [String: String]

    /// `stateDirectory`: OPENCLAW_STATE_DIR, else `~/.openclaw`, or nil if unknown.
    package init(stateDirectory: String?, environment: [String: String]) {
        self.stateDirectory = stateDirectory
        self.environment = environment
    }

    /// `address` and `token` are the configured ones, or nil; `tokenOrigin` names the token's source.
    package func find(address: WebAddress?, token: Secret?, tokenOrigin: String = "OPENCLAW_TOKEN") -> Found {
        var found = Found(address: address ?? Self.standardAddress, token: token)
        if token != nil { found.tokenSource = tokenOrigin }
        guard let stateDirectory, address == nil || token == nil else { return found }
        let path = stateDirectory + "/openclaw.json"
        let gateway = read(Form.self, path, &found)?.gateway?.value
        if address == nil, let port = gateway?.port?.value, port > 0 {
            found.address = WebAddress(.ws, "127.0.0.1", port)
        }
        // Secrets of the local gateway go to no other machine.
        guard token == nil, Self.isThisMachine(found.address.host) else { return found }
        let auth = gateway?.auth?.value
        let mode = auth?.mode?.value
        if mode == nil || mode == "token", let text = resolved(auth?.token?.value, path, &found) {
            (found.token, found.tokenSource) = (Secret(text), path)
        } else if mode == "password", let text = resolved(auth?.password?.value, path, &found) {
            found.password = Secret(text)
        } else if mode != "none" {
            takeOldToken(stateDirectory + "/nodes/paired.json", &found)
        }
        return found
    }

    package enum Presence { case isSetUp, isThere, isAbsent }

    /// Whether OpenClaw keeps files in the directory.
    package static func presence(in directory: String) -> Presence {
        if access(directory + "/openclaw.json", R_OK) == 0 { return .isSetUp }
        return access(directory, F_OK) == 0 ? .isThere : .isAbsent
    }

    private static func isThisMachine(_ host: String) -> Bool {
        // A name that resembles an IPv4 address, such as 127.0.0.1.example, may resolve to any machine.
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return host == "localhost" || host == "::1"
            || parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Takes the first token by the node's name: a stable choice.
    private func takeOldToken(_ path: String, _ found: inout Found) {
        guard let nodes = read([String: Lenient<Node>].self, path, &found) else { return }
        let tokens = nodes.sorted { $0.key < $1.key }.compactMap { $0.value.value?.token?.value }
        guard let token = tokens.first(where: { !$0.isEmpty }) else { return }
        (found.token, found.tokenSource) = (Secret(token), path)
    }

    /// OpenClaw's configuration may name an environment variable instead of a value.
    private func resolved(_ text: String?, _ path: String, _ found: inout Found) -> String? {
        guard let text, !text.isEmpty else { return nil }
        guard text.hasPrefix("${"), text.hasSuffix("}") else { return text }
        let name = String(text.dropFirst(2).dropLast())
        if let value = environment[name], !value.isEmpty { return value }
        found.warnings.append(
            "\(path) takes the gateway's secret from \(name), which is not set here; set it, or OPENCLAW_TOKEN")
        return nil
    }

    private func read<Value: Decodable>(_ type: Value.Type, _ path: String, _ found: inout Found) -> Value? {
        do throws(FileError) {
            guard let content = try PrivateFile.read(path) else { return nil }
            let decoder = JSONDecoder()
            // OpenClaw's file is JSON5 and may have comments.
            decoder.allowsJSON5 = true
            if let value = try? decoder.decode(type, from: Data(content.bytes)) {
                if let warning = content.warning { found.warnings.append(warning) }
                return value
            }
            found.warnings.append("\(path) is not understood; set OPENCLAW_URL and OPENCLAW_TOKEN")
        } catch {
            found.warnings.append("\(error)")
        }
        return nil
    }
}
