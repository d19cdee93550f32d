# CPU by default:  docker build -t longscribe . && docker run -p 7860:7860 longscribe
# NVIDIA GPU:      docker build --build-arg DEVICE=gpu -t longscribe . && docker run --gpus all -p 7860:7860 longscribe
FROM python:3.11-slim AS build
ARG DEVICE=cpu
# more to install, such as the driver of a database
ARG EXTRA_PACKAGES=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements.txt ./
# torch comes first and from its own index, so that nothing later pulls a build for another device
RUN python -m venv /venv \
    && case "$DEVICE" in \
        cpu) index=https://download.pytorch.org/whl/cpu ;; \
        gpu) index=https://download.pytorch.org/whl/cu130 ;; \
        *) echo "DEVICE is '$DEVICE'; it must be cpu or gpu." >&2; exit 1 ;; \
    esac \
    && /venv/bin/pip install "$(grep '^torch==' requirements.txt)" --index-url "$index" \
    && /venv/bin/pip install -r requirements.txt $EXTRA_PACKAGES

FROM python:3.11-slim
RUN useradd --create-home --uid 1000 reader && install -d -o 1000 -g 1000 -m 700 /data
COPY --from=build /venv /venv
WORKDIR /app
COPY --chown=1000:1000 app.py LICENSE README.md ./
COPY --chown=1000:1000 assets assets
COPY --chown=1000:1000 ocr_app ocr_app
USER 1000
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OCR_APP_HOST=0.0.0.0 \
    OCR_APP_PORT=7860 \
    OCR_APP_SERVICE_FOLDER=/data \
    GRADIO_TEMP_DIR=/tmp/gradio
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f\"http://127.0.0.1:{os.environ['OCR_APP_PORT']}/livez\", timeout=4)"]
CMD ["python", "app.py"]
