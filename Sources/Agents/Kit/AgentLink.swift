package import Vocabulary

/// A connection's view of its agent, whatever its bus: a machine with its host.
package protocol AgentLink: Sendable {
    /// Adopts the past of an earlier process, and connects. `facts` may hold all settings of the connection.
    func begin(_ past: AgentPast)
    /// `doctor` calls this instead: the link connects, reports its findings, and changes nothing.
    func check()
    /// False once the link closes; the command is then dropped.
    @discardableResult func command(_ command: AgentCommand) -> Bool
    /// `completion` is called once, on any thread.
    func query(_ query: AgentQuery, completion: @escaping @Sendable (AgentReply) -> Void)
    /// The computer has slept.
    func slept()
    /// Rereads the settings, which may have changed. A link that is down uses new ones at once, any other from its next channel on.
    func renew()
    /// Closes the link in order; later commands are dropped.
    func shutDown()
    /// True once everything that ends with the bridge is closed and nothing is being written.
    var isClosed: Bool { get }
    func stop()
    /// Pauses reading from the agent for lack of memory, or resumes it.
    func holdReading(_ isHeld: Bool)
    /// Bytes of frames whose orders are pending and of messages that are not passed on (`HeldBytes.agent`).
    var heldBytes: Int { get }
    /// Processes of this agent in the journal, from this start of the bridge and earlier ones. Some may have ended.
    var processes: [ProcessName] { get }
}

/// Events of an agent's link.
package enum AgentLinkEvent: Sendable {
    case observed([Observation])
    case state(AgentState)
    case note(AgentNote)
    // The end of a `check`.
    case finding(DoctorFinding)
    case done
}
