import Glibc

/// Most of the program's code runs once, at the start: connecting, reading files, making keys. It is given back when the bridge
/// has come to rest, and comes again from the page cache, a page at a time, where it is wanted.
enum ResidentCode {
    /// Only what is mapped to be executed from the program's own file: nothing there was ever written to.
    static func giveBack() {
        guard let maps = fopen("/proc/self/maps", "re") else { return }
        defer { fclose(maps) }
        var program = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/exe", &program, program.count - 1)
        guard length > 0 else { return }
        let path = String(decoding: program.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var line = [CChar](repeating: 0, count: 8_192)
        while fgets(&line, Int32(line.count), maps) != nil {
            let text = String(
                decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.contains(" r-xp "), text.hasSuffix(path), let range = range(of: text) else { continue }
            madvise(
                UnsafeMutableRawPointer(bitPattern: range.lowerBound), Int(range.upperBound - range.lowerBound),
                MADV_DONTNEED)
        }
    }

    private static func range(of line: String) -> Range<UInt>? {
        let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, ends[0] < ends[1] else { return nil }
        return ends[0]..<ends[1]
    }
}
