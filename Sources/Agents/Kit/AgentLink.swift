package import Vocabulary

/// What a connection needs of its agent, whatever its bus: a machine and its host.
package protocol AgentLink: Sendable {
    /// Takes up what an earlier process knew, and connects. Of `facts` all settings of the connection may be given.
    func begin(_ past: AgentPast)
    /// For `doctor`, instead: connects, reports its findings, and changes nothing.
    func check()
    /// False: the link closes, and the command goes nowhere.
    @discardableResult func command(_ command: AgentCommand) -> Bool
    /// `completion` is called once, on any thread.
    func query(_ query: AgentQuery, completion: @escaping @Sendable (AgentReply) -> Void)
    /// The machine has slept.
    func slept()
    /// The settings may have changed where they are kept: others are used at once where the link is away, else from the next
    /// channel on.
    func renew()
    /// Says goodbye; commands that come later are not carried out.
    func shutDown()
    /// Nothing is open that does not outlive the bridge, and nothing is being written.
    var isClosed: Bool { get }
    func stop()
    /// Stops reading from the agent for want of memory, or lets it go on.
    func holdReading(_ isHeld: Bool)
    /// Frames that were read and are not carried out, and messages that are not passed on (`HeldBytes.agent`).
    var heldBytes: Int { get }
    /// Processes that the journal has of this agent, of this start of the bridge and of earlier ones. Some may have ended.
    var processes: [ProcessName] { get }
}

/// Events of an agent's link.
package enum AgentLinkEvent: Sendable {
    case observed([Observation])
    case state(AgentState)
    case note(AgentNote)
    // After `check`.
    case finding(DoctorFinding)
    case done
}
