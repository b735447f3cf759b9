// The face of the page for the command line: what `tenon trace` needs to write a waterfall.
export { type Span, type SpanGroup, spansOfRecords } from "./waterfall/spans.js";
