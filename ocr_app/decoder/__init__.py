"""SR-SWA: tensors and token ids only; nothing of documents or tokenizers.

A decode step: 1 blocks behind the text window are freed; 2 the new tokens get slots; 3 the step plan hides
what the window no longer shows; 4 each layer writes its new keys and values; 5 the router scores earlier
blocks by their key summaries, pages first; 6 current page, overlap, text window and chosen blocks are
gathered and attended to; 7 logits are checked; 8 a rejected draft is rolled back.

    kv_blocks   which block belongs to whom (integers)
    kv_cache    the tensors
    retention   who stays (integers and scores)
    residency   pages coming and going
    routing     scores to biases (pure functions, trained with)
    attention   backends
    step_plan   index tensors of a step
    engine      the loop over layers
    scheduler, sampling   many documents at once
"""
