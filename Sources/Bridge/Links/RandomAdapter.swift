package import Vocabulary

package struct RandomAdapter: RandomNumberGenerator {
    private let source: any RandomSource

    package init(source: any RandomSource) { self.source = source }

    package mutating func next() -> UInt64 { source.next() }
}
