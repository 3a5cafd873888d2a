export interface QueuedMessage {
  readonly id: string;
  readonly body: unknown;
  attempts: number;
  visibleAt: number;
  inProgress: boolean;
}
