import BridgeModel

struct RandomAdapter: RandomNumberGenerator {
    let source: any RandomSource
    mutating func next() -> UInt64 { source.next() }
}
