extension String {
    /// The longest beginning of at most that many bytes, without a broken scalar. One character may have
    /// any number of bytes: a count of characters bounds no input from outside.
    package func head(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end > startIndex, end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
