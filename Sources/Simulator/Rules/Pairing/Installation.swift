/// The one installation of this relay: its tokens and pairings, its devices and names, its memory, and the last news of its bridge.
///
/// Invariants: no token is forgotten; a claimed pairing has a token of the installation; `toldStanding` is the state that the phone saw last.
struct Installation: Sendable {
    struct MemoryEntry: Sendable {
        /// JSON.
        let value: String
        let at: Moment
    }

    private(set) var isRevoked = false
    private(set) var names = InstallationNames()
    /// The last `version` of a `hello`.
    private(set) var bridgeVersion: String?
    /// Whether a bridge was ever connected.
    private(set) var hadBridge = false
    private var tokens: [String: TokenStanding]
    var devices = Devices()
    private var memory: [String: MemoryEntry] = [:]
    /// Oldest first.
    private var pairings: [PairingCode] = []
    private var toldStanding = BridgeStanding.State.never

    init(token: String) { tokens = [token: .good] }

    // MARK: Tokens

    func standing(of token: String) -> TokenStanding? { tokens[token] }
    var hasGoodToken: Bool { tokens.values.contains(.good) }
    var tokenCount: Int { tokens.count }
    var tokenNames: [String] { tokens.keys.sorted() }

    mutating func admit(_ token: String) { tokens[token] = .good }

    /// False if there is no such token.
    mutating func revoke(_ token: String) -> Bool {
        guard tokens[token] != nil else { return false }
        tokens[token] = .revoked
        return true
    }

    mutating func revoke() { isRevoked = true }

    // MARK: The bridge

    mutating func bridgeConnected() { hadBridge = true }
    mutating func bridgeSaid(version: String) { bridgeVersion = version }

    /// False if the phone knows the standing already.
    mutating func tell(_ standing: BridgeStanding.State) -> Bool {
        guard standing != toldStanding else { return false }
        toldStanding = standing
        return true
    }

    mutating func rename(displayName: String?) { names.displayName = displayName }
    mutating func rename(emoji: String?) { names.emoji = emoji }

    // MARK: Memory

    func entries(where isWanted: (String) -> Bool) -> [(key: String, entry: MemoryEntry)] {
        memory.filter { isWanted($0.key) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Number of keys after these are written.
    func memoryCount(with keys: [String]) -> Int { Set(memory.keys).union(keys).count }

    mutating func write(_ value: String, as key: String, at now: Moment) {
        memory[key] = MemoryEntry(value: value, at: now)
    }

    // MARK: Pairings

    /// Connector of the newest claimed pairing.
    var connector: String? { pairings.last { $0.token != nil }?.connector }

    func pairing(where fits: (PairingCode) -> Bool) -> PairingCode? { pairings.first(where: fits) }

    mutating func add(_ pairing: PairingCode, limit: Int) {
        pairings.append(pairing)
        if pairings.count > limit { pairings.removeFirst() }
    }

    func isKnown(code: String) -> Bool { pairings.contains { $0.code == code } }

    /// Adds a token to the existing ones. A revoked installation returns with it.
    mutating func claim(_ code: String, token: String) {
        guard let index = pairings.firstIndex(where: { $0.code == code }) else { return }
        tokens[token] = .good
        isRevoked = false
        pairings[index].token = token
    }
}

// Parts of a relay's state.
extension Installation {
    func write(to state: inout JSONWriter) {
        state.array("tokens") { list in
            for (token, standing) in tokens.sorted(by: { $0.key < $1.key }) {
                list.objectElement { item in
                    item.field("token", token)
                    item.field("is_good", standing == .good)
                }
            }
        }
        state.object("installation") { installation in
            installation.field("is_revoked", isRevoked)
            installation.field("display_name", names.displayName)
            installation.field("emoji", names.emoji)
            installation.field("had_bridge", hadBridge)
            installation.field("bridge_version", bridgeVersion)
            installation.field("told_standing", toldStanding.rawValue)
            devices.writeBridge(to: &installation)
        }
        devices.write(to: &state)
    }

    func writePairings(to state: inout JSONWriter) {
        state.array("pairings") { list in for pairing in pairings { list.objectElement(pairing.write) } }
        state.array("memory") { list in
            for (key, entry) in memory.sorted(by: { $0.key < $1.key }) {
                list.objectElement { item in
                    item.field("key", key)
                    item.field("value", json: entry.value)
                    item.field("at", entry.at.milliseconds)
                }
            }
        }
    }

    /// The options' token is good unless the document says otherwise.
    mutating func restore(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.list("tokens") {
            tokens[try reader.string("token")] = try reader.flag("is_good") ? .good : .revoked
        }
        let installation = try state.object("installation")
        isRevoked = try installation.flag("is_revoked")
        names = InstallationNames(
            displayName: try installation.optional("display_name"), emoji: try installation.optional("emoji"))
        hadBridge = try installation.flag("had_bridge")
        bridgeVersion = try installation.optional("bridge_version")
        toldStanding = try installation.choice("told_standing")
        try devices.restoreBridge(installation)
        try devices.restore(state)
    }

    mutating func restorePairings(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.list("pairings") { pairings.append(try PairingCode(reader)) }
        for reader in try state.list("memory") {
            memory[try reader.string("key")] = MemoryEntry(
                value: try reader.json("value"), at: try reader.moment("at"))
        }
    }
}
