"""SR-SWA: tensors and token ids only; nothing of documents or tokenizers.

A decode step: 1 blocks behind the text window are freed; 2 the new tokens get slots; 3 the step plan hides
what the window no longer shows; 4 each layer writes its new keys and values; 5 the router scores earlier
blocks by their key summaries, pages first; 6 current page, overlap, text window and chosen blocks are
gathered and attended to; 7 logits are checked; 8 a rejected draft is rolled back.

    kv_blocks   which block belongs to whom (integers)     routing    scores to biases (pure functions,
    trained with) kv_cache    the tensors                                attention  backends retention   who
    stays (integers and scores)            step_plan  index tensors of a step residency   pages coming and
    going                     engine     the loop over layers masks, oracle  the slow reference
    scheduler, sampling  many documents at once
"""
