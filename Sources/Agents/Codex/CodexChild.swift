/// A sub-agent, which has a thread of its own.
struct CodexChild {
    /// The request to follow its thread on this connection.
    enum Following { case no, asked, refused }

    var name: String
    /// It was begun in this turn, and so was all that it does.
    var isOwn = false
    /// Its own turn, while it continues.
    var turn: String?
    /// The turn of it that was to be interrupted last.
    var interrupted: String?
    var following = Following.no
}
