// Text that Tenon itself wrote into a result, told apart from what tools write by identity: no tool can make one.
import { type ContentBlock, type TextBlock, text } from "../../base/text/content.js";

const own = new WeakSet<ContentBlock>();

/**
 * A block that reaches the model as it is, lines of our own included. Whatever of it comes from others must have been
 * through `markForeign`. A copy of the block is no longer ours: its lines are then marked like anybody's.
 */
export function hostText(words: string): TextBlock {
  const block = text(words);
  own.add(block);
  return block;
}

export function isHostText(block: ContentBlock): boolean {
  return own.has(block);
}
