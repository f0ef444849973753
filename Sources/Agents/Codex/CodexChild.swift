/// A sub-agent, with a thread of its own.
struct CodexChild {
    /// State of the request that follows its thread on this connection.
    enum Following { case no, asked, refused }

    var name: String
    /// This turn began the sub-agent, so all its work belongs to the turn.
    var isOwn = false
    /// The sub-agent's own turn, while it runs.
    var turn: String?
    /// Newest turn of the sub-agent that a Stop has interrupted.
    var interrupted: String?
    var following = Following.no
}
