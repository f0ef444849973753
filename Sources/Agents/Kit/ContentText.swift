package import JSONReading

extension FrameNode {
    /// The text of a `content`: a string, or the `text` of its blocks of type text, joined without separators.
    package var contentText: String? {
        if let string { return string }
        guard isArray else { return nil }
        return elements.reduce(into: "") { text, block in
            if block["type"]?.holds("text") == true { text += block["text"]?.string ?? "" }
        }
    }
}
