/// A message with the word stop alone. It stops a run that is active in its chat, instead of queueing behind it.
enum StopWord: Hashable {
    /// A person may mean it as an answer, if the agent asks something.
    case bare
    case command

    private static let words: Set = ["stop", "abort"]

    init?(_ text: String) {
        let said = text.lowercased().split(whereSeparator: \.isWhitespace)
        guard said.count == 1, var word = said.first else { return nil }
        self = word.first == "/" ? .command : .bare
        if self == .command { word = word.dropFirst() }
        while let last = word.last, "!.".contains(last) { word.removeLast() }
        guard Self.words.contains(String(word)) else { return nil }
    }
}
