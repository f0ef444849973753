import Vocabulary

@testable import BridgeCore

extension Disorder {
    /// Judges the posts of a sealed turn: those that may leave without a key, and the sentences in the open.
    mutating func judgeSealing(_ post: Post) {
        guard turn.opening.sealing.isSealed else { return }
        if case .message(let message) = post, message.inTheOpen {
            inTheOpen.insert(post.name)
            if inTheOpen.count > 1 { faults.append("\(inTheOpen.count) sentences in the open") }
            if !Sentences.withoutContent.contains(message.text) { faults.append("in the open: \(message.text)") }
            if turn.opening.sealing.canSpeak { faults.append("in the open, though there is a key: \(message.text)") }
        } else if post.needsKey, turn.outcome != nil, !turn.opening.sealing.canSpeak {
            faults.append("the end needs a key that is not there: \(post)")
        }
    }
}
