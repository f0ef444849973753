package import BridgeModel
package import Links

/// What a connection needs of an agent, whatever its bus.
package protocol AgentLink: Sendable {
    /// What an earlier process had handed over. Before `start`.
    func adopt(_ turn: EarlierTurn)
    func start()
    func command(_ command: AgentCommand)
    /// The machine has slept.
    func slept()
    /// Credentials may have changed where they are kept: others are used at once where the link waits, else from the next socket on.
    func renew()
    /// Says goodbye; commands that come later are not carried out.
    func shutDown()
    var isClosed: Bool { get }
    func stop()
    /// Stops reading from the agent for want of memory, or lets it go on.
    func holdReading(_ isHeld: Bool)
    /// Frames that were read and are not carried out (`HeldBytes.agent`).
    var heldBytes: Int { get }
}

extension AgentLink {
    package func holdReading(_ isHeld: Bool) {}
    package var heldBytes: Int { 0 }
}

/// Events of an agent's link.
package enum AgentLinkEvent: Sendable {
    case observed([Observation])
    case connected(version: String, scopes: [String]?)
    /// It is tried again then; an agent's link is never given up.
    case waiting(reason: String, retryAt: Instant, remedy: LinkRemedy?)
    /// What a person can do, while the link is there.
    case remedy(String)
    case unknown(UnknownTally)
    case note(String)
}
