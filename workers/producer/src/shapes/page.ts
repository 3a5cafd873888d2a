/** A page of a list. A short page, even an empty one, may have a next one. */
export interface Page<Item> {
  readonly data: readonly Item[];
  /** `null`: the list ends here. */
  readonly next_cursor: string | null;
}

/** Documents asked for by their ids. */
export interface FoundDocuments {
  /** As JSON text. */
  readonly documents: readonly string[];
  readonly missing: readonly string[];
}
