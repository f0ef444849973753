/// The words behind a program's name, by kind: options, their values, and the rest.
struct ShellArguments {
    /// Names of the options: `r` and `f` of `-rf`, `force` of `--force`, `name` of `--name=value`.
    private(set) var flags: Set<String> = []
    private(set) var values: [(name: String, word: ShellWord)] = []
    private(set) var operands: [ShellWord] = []

    /// `valued`: options, without hyphens and separated by spaces, that take the next word if no value is joined to them. `stops`:
    /// everything from the first operand on is one. `isLong`: one hyphen begins a long name, as for `find` and `openssl`.
    init(_ words: ArraySlice<ShellWord>, valued: String = "", stops: Bool = false, isLong: Bool = false) {
        let valued = Set(valued.split(separator: " ").map { String($0) })
        var words = words
        while let word = words.popFirst() {
            let bytes = word.bytes
            if bytes.elementsEqual("--".utf8) {
                operands += words
                return
            }
            guard word.isOption else {
                operands.append(word)
                if stops {
                    operands += words
                    return
                }
                continue
            }
            if bytes[1] == UInt8(ascii: "-") || isLong {
                let name = bytes.drop { $0 == UInt8(ascii: "-") }
                let end = name.firstIndex(of: UInt8(ascii: "="))
                let key = String(decoding: name[..<(end ?? name.endIndex)], as: UTF8.self)
                flags.insert(key)
                if let end {
                    var value = word
                    value.bytes = Array(name[(end + 1)...])
                    values.append((key, value))
                } else if valued.contains(key), let value = words.popFirst() {
                    values.append((key, value))
                }
            } else {
                cluster(word, valued, &words)
            }
        }
    }

    private mutating func cluster(_ word: ShellWord, _ valued: Set<String>, _ words: inout ArraySlice<ShellWord>) {
        for (index, byte) in word.bytes.enumerated().dropFirst() {
            let key = String(decoding: [byte], as: UTF8.self)
            flags.insert(key)
            guard valued.contains(key) else { continue }
            var value = word
            value.bytes = Array(word.bytes[(index + 1)...])
            if value.bytes.isEmpty, let next = words.popFirst() { value = next }
            return values.append((key, value))
        }
    }

    func has(_ names: String...) -> Bool { names.contains(where: flags.contains) }

    func value(_ names: String...) -> ShellWord? { values.last { names.contains($0.name) }?.word }

    func values(_ names: String...) -> [ShellWord] { values.filter { names.contains($0.name) }.map(\.word) }
}
