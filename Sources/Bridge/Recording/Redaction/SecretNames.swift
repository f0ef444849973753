/// Names of members, headers and parameters that carry secrets. The end of a name decides, so that `deviceToken`, `bot_token` and `X-Api-Key`
/// need no entry of their own, and `inputTokens` does not count.
enum SecretNames {
    private static let endings: [[UInt8]] = [
        "token", "password", "passwd", "passphrase", "secret", "signature", "apikey", "publickey", "privatekey",
        "nonce",
        "authorization", "cookie", "credential", "credentials", "invite",
    ].map { Array($0.utf8) }
    private static let lists = ["authtokens", "accesstokens", "secrets", "passwords"]
        .map { Array($0.utf8) }
    /// Names whose value runs to the end of the line, as headers do.
    private static let lines = ["authorization", "proxyauthorization", "cookie", "setcookie"].map { Array($0.utf8) }
    /// Names that need no quotes around them: `password: x` is a secret, `token: what it is` may be prose.
    private static let plain = ["password", "passwd", "passphrase", "apikey"].map { Array($0.utf8) }
    private static let longest = 80

    static func isSecret(_ name: some Collection<UInt8>) -> Bool {
        guard let name = normal(name) else { return false }
        return endings.contains { ends(name, $0) } || lists.contains(name)
    }

    static func isHeader(_ name: some Collection<UInt8>) -> Bool {
        guard let name = normal(name) else { return false }
        return lines.contains(name) || ends(name, plain[3])
    }

    static func takesLine(_ name: some Collection<UInt8>) -> Bool {
        normal(name).map { lines.contains($0) } ?? false
    }

    static func isPlain(_ name: some Collection<UInt8>) -> Bool {
        guard let name = normal(name) else { return false }
        return lines.contains(name) || plain.contains { ends(name, $0) }
    }

    private static func ends(_ name: [UInt8], _ ending: [UInt8]) -> Bool {
        name.count >= ending.count && name[(name.count - ending.count)...].elementsEqual(ending)
    }

    /// Lower case, without the marks that join words.
    private static func normal(_ name: some Collection<UInt8>) -> [UInt8]? {
        guard name.count <= longest else { return nil }
        return name.compactMap { byte in
            switch byte {
            case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: " "): nil
            case 65...90: byte + 32
            default: byte
            }
        }
    }
}
