/// The misfortunes to come: the planned faults, and the mix that draws more of them.
///
/// Invariants: a planned fault has at least one strike left, and the oldest matching one strikes first; a draw
/// for a connection strikes that connection, once. Each chance is drawn from the mix even if a planned fault
/// precedes it: the same seed gives the same faults for the same calls.
struct FaultPlan: Sendable {
    private var calls: [Fault] = []
    private var sockets: [SocketFault] = []
    private var mix: FaultMix?
    private var drawnForConnection: SocketFault.Kind?

    var hasCalls: Bool { !calls.isEmpty }
    var activeMix: ActiveMix? { mix.map { ActiveMix(seed: $0.seed, rate: $0.rate, kinds: $0.kinds.map(\.name)) } }

    /// Oldest first, calls before sockets.
    var all: [PlannedFault] {
        calls.map { PlannedFault(kind: $0.kind.name, method: $0.method, left: $0.count) }
            + sockets.map { PlannedFault(kind: $0.kind.name, method: nil, left: $0.count) }
    }

    mutating func plan(_ fault: Fault) { calls.append(fault) }
    mutating func plan(_ fault: SocketFault) { sockets.append(fault) }
    mutating func use(_ mix: FaultMix) { self.mix = mix }

    mutating func forgetCalls() {
        calls = []
        mix = nil
    }

    mutating func forgetSockets() { sockets = [] }

    // MARK: Calls

    /// A fault for the call: planned ones precede the draw of the mix. A call that takes no effect meets only those that
    /// answer in the relay's place.
    mutating func strike(call method: String, takesEffect: Bool) -> Fault.Kind? {
        let fits = { (kind: Fault.Kind) in takesEffect || kind.answersInstead }
        let drawn = mix?.drawForCall().flatMap { fits($0) ? $0 : nil }
        return takeCall { ($0.method == nil || $0.method == method) && fits($0.kind) } ?? drawn
    }

    /// A fault that names this address, and answers in the relay's place.
    mutating func strike(address name: String) -> Fault.Kind? {
        takeCall { $0.method == name && $0.kind.answersInstead }
    }

    private mutating func takeCall(where strikes: (Fault) -> Bool) -> Fault.Kind? {
        guard let index = calls.firstIndex(where: strikes) else { return nil }
        calls[index].count -= 1
        let kind = calls[index].kind
        if calls[index].count <= 0 { calls.remove(at: index) }
        return kind
    }

    // MARK: Connections and updates

    /// Draws from the mix for a new connection.
    mutating func drawForConnection() { drawnForConnection = mix?.drawForSocket(.connection) }

    /// A planned fault for the connection, or the mix's draw for it.
    mutating func strikeConnection(where fits: (SocketFault.Kind) -> Bool) -> SocketFault.Kind? {
        if let planned = takeSocket(where: fits) { return planned }
        guard let kind = drawnForConnection, fits(kind) else { return nil }
        drawnForConnection = nil
        return kind
    }

    /// A planned fault for a grant or an acknowledgement, or the mix's draw for it.
    mutating func strike(_ target: FaultKind.Target, among kinds: [SocketFault.Kind]) -> SocketFault.Kind? {
        let drawn = mix?.drawForSocket(target)
        return takeSocket { kinds.contains($0) } ?? drawn
    }

    /// A planned fault for an approval, or the mix's draw for it. `hasLife`: the approval names its life.
    mutating func strikeCard(hasLife: Bool) -> SocketFault.Kind? {
        let drawn = mix?.drawForSocket(.approval).flatMap { $0.strikesCard(hasLife: hasLife) ? $0 : nil }
        return takeSocket { $0.strikesCard(hasLife: hasLife) } ?? drawn
    }

    /// One planned fault of each kind, and the mix's draw.
    mutating func strikes(on target: FaultKind.Target, among kinds: [SocketFault.Kind]) -> [SocketFault.Kind] {
        var struck = kinds.filter { kind in takeSocket { $0 == kind } != nil }
        if let drawn = mix?.drawForSocket(target) { struck.append(drawn) }
        return struck
    }

    private mutating func takeSocket(where fits: (SocketFault.Kind) -> Bool) -> SocketFault.Kind? {
        guard let index = sockets.firstIndex(where: { fits($0.kind) }) else { return nil }
        sockets[index].count -= 1
        let kind = sockets[index].kind
        if sockets[index].count <= 0 { sockets.remove(at: index) }
        return kind
    }
}
