import Glibc

/// Most code runs once, at the start: connecting, reading files, making keys. The bridge gives its memory back once it rests; the page cache
/// returns it, a page at a time, if it runs again.
enum ResidentCode {
    /// Drops the resident pages of executable mappings of files, which are never dirty.
    static func giveBack() {
        guard let maps = fopen("/proc/self/maps", "re") else { return }
        defer { fclose(maps) }
        var line = [CChar](repeating: 0, count: 8_192)
        while fgets(&line, Int32(line.count), maps) != nil {
            let text = String(
                decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.contains(" r-xp "), text.contains(" /"), let range = range(of: text) else { continue }
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
