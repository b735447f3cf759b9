// The face of the page for the command line: what `tenon trace` needs to write a waterfall.
export { type SpanGroup, spansOfRecords } from "./waterfall/spans.js";
export { spansOfTrace } from "./waterfall/trace-spans.js";
