import CEmbedded

/// What the program was made of.
enum BuildFacts {
    /// Empty where nobody said.
    static var commit: String { String(cString: build_commit()) }

    static var libraries: String {
        String(unsafeUninitializedCapacity: 512) { room in
            room.withMemoryRebound(to: CChar.self) { min(build_libraries($0.baseAddress, $0.count), $0.count - 1) }
        }
    }
}
