package import Vocabulary

extension ProcessEnd {
    /// The end of a process for a sentence, with its last words on standard error.
    package func words(_ lastWords: String) -> String {
        let how =
            switch self {
            case .exited(let code): "its process ended with code \(code)"
            case .signalled(let signal): "its process was ended by signal \(signal)"
            }
        let lines = lastWords.split(separator: "\n").filter { !$0.allSatisfy(\.isWhitespace) }.suffix(3)
        return lines.isEmpty ? how : "\(how): \(lines.map { $0.prefix(200) }.joined(separator: " / "))"
    }
}
